"""ROS 2: the controller as a lifecycle node with standard messages. Importing its files needs rclpy."""
