# The client of docs/testing.md with the bug that BUG names, or without one.
import correct, math, os
from correct import APIError, pages

bug = os.environ.get("BUG", "")
correct_send, tries = correct.send, 0

class Instead(APIError):
    def __init__(self):  # of no response
        self.status, self.wait = 502, None

def send(url, method="GET", *args, **options):
    global tries
    tries += 1
    if bug == "no timeout":
        options["timeout"] = None
    if bug == "no body in a retry" and tries > 1:
        args = ()
    try:
        body, headers = correct_send(url, method, *args, **options)
        return body, {} if bug == "no next page" else headers
    except APIError as e:
        error, outcome = e, f"a {e.status}"
    except OSError as e:
        timed_out = isinstance(getattr(e, "reason", e), TimeoutError)
        outcome = f"a {'timed-out' if timed_out else 'lost'} {method}"
        if not bug.startswith(outcome):
            raise
        error = Instead()
    if bug == "too many tries" and tries < 6:
        return send(url, method, *args, **options)
    if bug == outcome + " is final" or bug == "only one retry" and tries == 2:
        error.wait = None
    if bug == outcome + " is retried" or bug == "Retry-After is ignored" and error.wait:
        error.wait = 0.25
    if bug == "an error is no error" and not error.wait:
        return None, {}
    raise error

def call(*args, **options):
    if bug == "no wait is too long":
        options["within"] = math.inf
    return correct.call(*args, **options)

correct.send = send
