"""What is wrong with which field of which object, and what to do: as data, which errors carry."""
