"""Puts the Delta tables and a CSV file into Azurite and an emulator of Google Cloud Storage:
`fill_buckets.py TABLES AZURE_ENDPOINT AZURE_KEY GCS_ENDPOINT`. The container and the bucket are `lake`.
"""

import pathlib
import sys
import urllib.parse
import urllib.request

from azure.storage.blob import BlobServiceClient

tables, azure, key, gcs = sys.argv[1:]
files = {"cities.csv": b"city,country\nRome,Italy\nOslo,Norway\n", "a b/c=1/\u00e9.csv": b"x,y\n1,2\n"}
for table in ("sales", "deleted"):
    for path in (pathlib.Path(tables) / table).rglob("*"):
        if path.is_file():
            files[f"tables/{path.relative_to(tables)}"] = path.read_bytes()

account = azure.rstrip("/").rsplit("/", 1)[-1]
service = BlobServiceClient(azure, credential={"account_name": account, "account_key": key})
container = service.create_container("lake")
service.create_container("closed")
for name, content in files.items():
    container.upload_blob(name, content)


def post(path, content, kind):
    request = urllib.request.Request(f"{gcs}{path}", data=content, headers={"content-type": kind}, method="POST")
    urllib.request.urlopen(request, timeout=30).read()


post("/storage/v1/b?project=test", b'{"name":"lake"}', "application/json")
for name, content in files.items():
    name = urllib.parse.quote(name, safe="")
    post(f"/upload/storage/v1/b/lake/o?uploadType=media&name={name}", content, "application/octet-stream")
