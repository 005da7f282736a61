"""Webhook deliveries, signed as Standard Webhooks specifies, and posted to a URL or passed to an app in-process."""
