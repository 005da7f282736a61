"""A server at a URL held to the contract: what it must refuse, what it must take, how it answers, what it remembers.

`endpoint` sends, `socket` does over a WebSocket, `questions` are the rules’ examples and `probes` of each kind of item,
`scenarios` and `remembered` are stories, `grade` compares, `score` counts and tells, `examine` does all of it in order.
"""
