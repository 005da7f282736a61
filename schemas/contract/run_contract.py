"""Asks a server the examples of contract.json and prints a table: python run_contract.py URL [MODEL] [FILE.json].

Needs Python 3.9 and nothing else; the key is in the variable SERVER_KEY. WebSockets are left out. MIT licence.
"""

import base64
import http.client
import json
import os
import pathlib
import re
import sys
import time
import urllib.parse
from collections import Counter, defaultdict

TIMEOUT = 30
GRADES = {"words": 3, "code": 2, "status": 1}
VARYING = re.compile(r" \[Request ID: [^\]]*\]|(?<=Supported values are: ).*", re.DOTALL)


class Server:
    """A server at a base URL, asked with a key for a model."""

    def __init__(self, url, model, key):
        self.url = urllib.parse.urlsplit(url.rstrip("/"))
        self.names = {"model": model, "key": key, "root": self.url.path}

    def fill(self, value, answers):
        """Replace {model}, {key}, {root} and {n.path} in all strings."""
        if isinstance(value, list):
            return [self.fill(part, answers) for part in value]
        if isinstance(value, dict):
            return {name: self.fill(part, answers) for name, part in value.items()}
        if not isinstance(value, str):
            return value
        for name, text in self.names.items():
            value = value.replace("{" + name + "}", text)
        return re.sub(r"\{(\d+)\.([\w.]+)\}", lambda found: look_up(answers[int(found[1])][1], found[2]), value)

    def send(self, step, answers):
        """Return status, body (of a stream the last response), whether it is unusable, and whether it refuses."""
        text = step["text"].replace("{model}", self.names["model"]) if "text" in step else ""
        text = json.dumps(self.fill(step["body"], answers)) if "body" in step else text
        data = text.encode() or base64.b64decode(step.get("base64", "")) or None
        path = urllib.parse.quote(self.fill(step["path"], answers), safe="/?=&%[]:,+@!$'()*;~")
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        for _ in range(3):
            connection = kind(self.url.hostname, self.url.port, timeout=TIMEOUT)
            try:
                connection.request(step["method"], self.url.path + path, data, self.fill(step["headers"], answers))
                answer = connection.getresponse()
                content, wait = answer.read(), answer.headers.get("retry-after", "")
            except (OSError, http.client.HTTPException) as error:
                return 0, str(error), True, False
            finally:
                connection.close()
            if answer.status != 429 or not wait.isdigit() or int(wait) > 20:
                break
            time.sleep(int(wait))
        return read(answer.status, answer.headers.get("content-type", ""), content, path)


def look_up(body, path):
    """Return the text at a path in an answer."""
    for name in path.split("."):
        body = body[int(name)] if name.isdigit() else body[name]
    return str(body)


def read(status, kind, content, path):
    """Read an answer as `send` returns it."""
    if "text/event-stream" in kind:
        data = [
            line[5:].strip() for line in content.decode("utf-8", "replace").splitlines() if line.startswith("data:")
        ]
        events = [json.loads(text) for text in data if text.startswith("{")]
        refusals = [event for event in events if event.get("type") == "error"]
        last = next((event["response"] for event in reversed(events) if "response" in event), None)
        return status, {"error": refusals[0]} if refusals else last, not events, bool(refusals) or status >= 400
    try:
        return status, json.loads(content), False, status >= 400
    except ValueError:
        return status, None, not path.endswith("/content"), status >= 400


def grade(example, expected, answer):
    """Grade the last answer: words, code or status for a refusal, else other, taken, refused or failed."""
    status, body, unusable, refuses = answer
    if status == 429:
        return "limited"
    if status >= 500 or (unusable and status < 400):
        return "failed"
    if example["kind"] == "accept":
        return "taken" if 200 <= status < 300 and not refuses else "refused"
    if status < 400:
        return "other" if refuses else "taken"
    if status != expected["status"]:
        return "other"
    error = body["error"] if isinstance(body, dict) and isinstance(body.get("error"), dict) else {}
    if "code" not in error or any(expected.get(name, error.get(name)) != error.get(name) for name in ("code", "param")):
        return "status"
    said = [VARYING.sub("", str(each.get("message"))) for each in (expected, error)]
    return "words" if said[0] == said[1] and expected.get("type") == error.get("type") else "code"


def ask(server, example):
    """Send the steps of an example and grade the last answer; blocked if an earlier one is not as expected."""
    answers = []
    try:
        for step in example["steps"]:
            answers.append(server.send(step, answers))
            status, _, unusable, _ = answers[-1]
            if "status" in step and (200 <= status < 300 and not unusable) != (step["status"] < 300):
                return "blocked"
        return grade(example, server.fill(example["expected"], answers), answers[-1])
    except (LookupError, TypeError):
        return "blocked"


def main():
    """Ask everything, and print the table."""
    url, model, file = (*sys.argv[1:], "", "", "")[:3]
    contract = json.loads(pathlib.Path(__file__).with_name("contract.json").read_text("utf-8"))
    server = Server(url, model or contract["model"], os.environ.get("SERVER_KEY", "sk-contract"))
    probes = {name: server.send(step, []) for name, step in contract["endpoints"].items() if step["method"] != "WS"}
    there = {name for name, answer in probes.items() if 200 <= answer[0] < 300}
    listed = [entry.get("id") for entry in (probes["/models"][1] or {}).get("data") or [] if "/models" in there]
    there |= {f"/models/{name}" for name in listed}
    models = {server.names["model"], contract["model"], *listed}
    areas, totals, findings = defaultdict(Counter), {"refusal": Counter(), "accept": Counter()}, []
    for example in contract["examples"]:
        other = server.names["model"] != contract["model"] and not example["any_model"]
        if other or example["left_out"] or set(example["needs"]) - there or set(example["models"]) - models:
            continue
        outcome = ask(server, example)
        areas[example["kind"], example["area"]][outcome] += 1
        if (example["kind"], outcome) != ("accept", "taken") and outcome not in ("words", "blocked", "limited"):
            findings.append({**{name: example[name] for name in ("kind", "name")}, "outcome": outcome})
    for (kind, area), counts in sorted(areas.items()):
        totals[kind].update(counts)
        print(f"{kind:8} {area:32}", "  ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    judged = {kind: sum(counts.values()) - counts["blocked"] - counts["limited"] for kind, counts in totals.items()}
    points = sum(GRADES.get(name, 0) * count for name, count in totals["refusal"].items())
    print(f"refuses  {points} of {3 * judged['refusal']}\naccepts  {totals['accept']['taken']} of {judged['accept']}")
    if file:
        pathlib.Path(file).write_text(json.dumps({"totals": totals, "findings": findings}, indent=1), "utf-8")


main()
