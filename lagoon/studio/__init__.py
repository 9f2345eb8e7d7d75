"""What people look at: the browser viewer, the preview video and page."""
