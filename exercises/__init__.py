"""The exercises: a table for each chapter, and what a reader is told of each mistake."""
