"""Computes what the verifier printed in the data model of S3 computes, for comparison with ours.

`verify_s3.py LOG...` prints True or False for each log.
"""

import hashlib
import json
import sys


def verify(path):
    parent, expected = "0" * 64, 1
    with open(path, encoding="utf-8") as log:
        for entry in map(json.loads, log):
            if entry["sequence_number"] != expected or entry["parent_hash"] != parent:
                return False
            data = json.dumps(entry["event_data"], sort_keys=True)
            text = f"{entry['parent_hash']}{entry['timestamp']}{entry['event_type']}{data}"
            if hashlib.sha256(text.encode()).hexdigest() != entry["hash"]:
                return False
            parent, expected = entry["hash"], expected + 1
    return True


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(verify(path))
