"""optimum"""
