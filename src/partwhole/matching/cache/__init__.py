"""What is kept between matches: results, templates and their features."""
