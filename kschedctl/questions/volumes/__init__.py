"""volumes"""
