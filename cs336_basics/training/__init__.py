"""What it takes to train a model: stories, token files, the loop, what people look at."""
