"""The process of one job: a command of vibrid, run in the workspace, that goes on when the server is gone."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    """Run the command that the file job.json in the folder (the only argument) describes, and note how it ended."""
    from vibrid.core.files import write_text

    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    os.chdir(job["workspace"])
    os.environ["VIBRID_PROGRESS"] = str(folder / "progress.jsonl")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background of a shell ignores it
    code = 1
    try:
        from vibrid import cli

        sys.argv = ["vibrid", *job["arguments"]]
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:  # before the command could answer it
        code = 130
    finally:
        sys.stdout.flush()
        write_text(folder / "end.json", json.dumps({"code": code, "time": time.time()}))
    sys.exit(code)


if __name__ == "__main__":
    main()
