"""The questions that the server answers: each is a function that runs in a worker process, and its parameters."""
