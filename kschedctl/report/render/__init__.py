"""The forms that an answer is printed in."""
