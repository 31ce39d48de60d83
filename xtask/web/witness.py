"""witness.py STEWARD_BINARY: one Steward is the witness of another's journal, and finds an older copy and a second history.

The home that is watched loses everything that it kept itself, so only the witness can tell.
"""

import shutil
import subprocess
import sys

from harness import Server, Tally, request


def main():
    binary = sys.argv[1]
    check = Tally()
    watched, witness = Server(binary, apps=False), Server(binary, apps=False)
    log = watched.steward("audit", "head", "--key").strip()
    key = witness.steward("audit", "head", "--witness-key").strip()
    (witness.home / "config/steward.yaml").write_text(f"witness:\n  logs: ['{log}']\n")
    with witness:
        (watched.home / "config/steward.yaml").write_text(
            f"witness:\n  url: {witness.base}/witness\n  key: '{key}'\n"
        )

        def said(*words):
            done = subprocess.run(
                [binary, *words], env=watched.environment, capture_output=True, text=True, timeout=60
            )
            return done.returncode, done.stdout + done.stderr

        def forget():
            shutil.rmtree(watched.home / "witness", ignore_errors=True)

        code, text = said("audit", "publish")
        check(code == 0 and "signed" in text, "the witness signs the first head", text)
        older = {file.name: file.read_bytes() for file in watched.home.glob("state.db*")}
        watched.steward("grants", "add", "clerk", "--domain", "todo")
        watched.steward("users", "add", "ada", "--role", "clerk")
        code, text = said("audit", "publish")
        check(code == 0 and "signed" in text, "and one that continues it", text)
        code, text = said("audit", "publish")
        check(code == 0, "and the same once more", text)

        for file in watched.home.glob("state.db*"):
            file.unlink()
        for name, data in older.items():
            (watched.home / name).write_bytes(data)
        forget()
        code, text = said("audit", "publish")
        check(code != 0 and "JRN016" in text, "an older copy is found by the witness alone", text)
        for number in range(6):
            watched.steward("grants", "add", f"other{number}", "--domain", "todo")
        forget()
        code, text = said("audit", "publish")
        check(code != 0 and "JRN018" in text, "another history is not signed", text)

        for what, body, status in [
            ("nonsense", b"hello", 400),
            ("another log", b"old 0\n\nother.log\n1\nAAAA\n\n\xe2\x80\x94 other.log AAAA\n", 404),
            ("a head without signature", f"old 0\n\n{log.split('+')[0]}\n1\n{'A' * 43}=\n\n".encode(), 403),
        ]:
            got = request(
                witness.base, "POST", "/witness/add-checkpoint", body, {"Content-Type": "text/plain"}
            )
            check(got.status == status, f"{what}: {status}", got)
    shutil.rmtree(watched.folder, ignore_errors=True)
    check.end("witness")


if __name__ == "__main__":
    main()
