"""What the model does when nothing is scripted: what it reads, which tool it calls, with what, and what it says."""
