"""What a run read and sent: kept while it runs, written as a bag after it, and replayed through a bundle."""
