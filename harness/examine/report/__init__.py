"""The report of an examination: of one client or several side by side, as JSON, a page, Markdown and JUnit XML."""
