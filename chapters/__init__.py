"""What one chapter needs and does not show."""
