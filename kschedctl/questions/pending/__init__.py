"""pending"""
