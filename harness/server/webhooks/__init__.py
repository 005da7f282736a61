"""Deliveries to webhooks: signed as Standard Webhooks says, posted to a URL or handed to an app of this process."""
