"""What keeps the course in order: chapters executed and stamped, the book complete."""
