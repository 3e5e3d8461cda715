"""What would kube-scheduler do, and why?"""
