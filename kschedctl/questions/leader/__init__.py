"""leader"""
