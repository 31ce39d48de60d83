"""Computes what the verifier printed in the data model of S3 computes, for comparison with ours.

`verify_s3.py LOG...` prints True or False for each log.
"""

import hashlib
import json
import sys


def verify(path):
    with open(path, encoding="utf-8") as log:
        entries = [json.loads(line) for line in log]
    parent = "0" * 64
    for place, entry in enumerate(entries, start=1):
        if entry["sequence_number"] != place or entry["parent_hash"] != parent:
            return False
        data = json.dumps(entry["event_data"], sort_keys=True)
        text = f"{entry['parent_hash']}{entry['timestamp']}{entry['event_type']}{data}"
        if hashlib.sha256(text.encode()).hexdigest() != entry["hash"]:
            return False
        parent = entry["hash"]
    return True


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(verify(path))
