"""preempt"""
