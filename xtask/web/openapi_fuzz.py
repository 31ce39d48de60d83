"""openapi_fuzz.py BASE_URL [--key KEY] [--seed N]: schemathesis against the server's own OpenAPI document.

No answer may be a 5xx, none may be undocumented, and each must have the form that the document says. Bounded in time and in
examples, one request at a time. What it sends is partly valid and partly not. Give it a server whose home nobody needs.
"""

import argparse
import subprocess
import sys
import tempfile

from harness import healthy, request

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("base")
    arguments.add_argument("--key")
    arguments.add_argument("--seed", default="1")
    arguments.add_argument("--examples", default="3")
    arguments.add_argument("--seconds", type=int, default=120, help="it fuzzes until they are spent")
    given = arguments.parse_args()
    document = request(given.base, "GET", "/openapi.json").json()
    operations = sum(len(item) for item in document["paths"].values())
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            f"{given.base}/openapi.json",
            "--workers=1",
            f"--checks={','.join(CHECKS)}",
        ]
        words += [
            "--phases=examples,coverage,fuzzing",
            f"--max-examples={given.examples}",
            f"--seed={given.seed}",
            "--continue-on-failure",
        ]
        words += [
            "--request-timeout=30",
            f"--max-time={given.seconds}",
            "--suppress-health-check=all",
            "--no-shrink",
            "--warnings=off",
        ]
        words += ["--generation-database=none", "--no-color"]
        if given.key:
            words += ["--header", f"Authorization: Bearer {given.key}"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=given.seconds + 120)
        print(done.stdout[-12000:], done.stderr[-2000:], sep="\n")
    alive = healthy(given.base)
    print(
        f"schemathesis: {operations} operations, exit {done.returncode}, the server is {'well' if alive else 'NOT well'} after it"
    )
    sys.exit(0 if done.returncode == 0 and alive else 1)


if __name__ == "__main__":
    main()
