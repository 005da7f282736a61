"""Detects drift: sends recorded requests to the live API again and compares the answers; recordings never change."""
