"""The studio under attack: other pages, wrong tokens, paths out of the workspace, files that are too much."""

import json
import subprocess
import sys

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from vibrid.core.errors import FileProblem, InputError
from vibrid.studio.guard import allowed_hosts, chosen_token
from vibrid.studio.limits import ReadingLimits
from vibrid.studio.looking import Looks, look
from vibrid.studio.workspace import Workspace


def bearer(studio, token=None):
    return {"Authorization": f"Bearer {studio.token if token is None else token}"}


# -- who asks ------------------------------------------------------------------------------------------------------


def test_the_page_is_served_with_a_strict_policy(studio):
    status, headers, body = studio.request("GET", "/")
    assert status == 200 and b"<!doctype html>" in body.lower()
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert studio.token.encode() not in body and "set-cookie" not in {name.lower() for name in headers}


@pytest.mark.parametrize("token", ["", "0" * 48, "é" * 10])
def test_without_the_token_nothing_is_told(studio, token):
    for headers in ({}, bearer(studio, token.encode().decode("latin-1")), {"Cookie": f"token={studio.token}"}):
        for method, path in (("GET", "/api/state"), ("PUT", "/api/files/a.csv"), ("POST", "/api/jobs")):
            status, _, body = studio.request(method, path, b"{}" if method != "GET" else None, headers)
            assert status == 401 and b"token" in body
    assert studio.request("GET", f"/api/state?token={studio.token}")[0] == 401  # never in an address that is logged


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:80", ""])
def test_a_name_that_leads_here_is_refused(studio, host):
    """DNS rebinding: a page of evil.example, whose name now has the address of this machine."""
    status, _, body = studio.request("GET", "/api/state", headers=bearer(studio), host=host or " ")
    assert status in (400, 421) and b"version" not in body


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_another_page_in_the_same_browser_is_refused(studio, headers):
    for method, path in (("GET", "/"), ("GET", "/api/state"), ("POST", "/api/jobs"), ("DELETE", "/api/files/a.csv")):
        body = None if method == "GET" else b"{}"
        assert studio.request(method, path, body, {**bearer(studio), **headers})[0] == 403
    answer = studio.request("OPTIONS", "/api/jobs", None, {**headers, "Access-Control-Request-Method": "POST"})
    assert answer[0] == 403 and not any(name.lower().startswith("access-control") for name in answer[1])


def test_the_websocket_is_guarded_too(studio):
    address = f"ws://{studio.host}/live"
    for origin in ("http://evil.example", "null", None):
        with pytest.raises(InvalidStatus), connect(address, origin=origin):
            pass
    for first in ({"token": "0" * 48}, {"watch": 1}, [1], "x"):
        with connect(address, origin=studio.address) as socket:
            socket.send(json.dumps(first))
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=10)
    with connect(address, origin=studio.address) as socket:
        socket.send(json.dumps({"token": studio.token}))
        assert "jobs" in json.loads(socket.recv(timeout=10))


def test_another_host_needs_a_token_of_the_user():
    assert len(chosen_token("127.0.0.1", None)) >= 32 and chosen_token("::1", None) != chosen_token("::1", None)
    with pytest.raises(InputError, match="choose a token of your own"):
        chosen_token("192.168.1.4", None)
    for weak in ("short", "a token with blanks"):
        with pytest.raises(InputError, match="token"):
            chosen_token("192.168.1.4", weak)
    for everything in ("0.0.0.0", "::"):
        with pytest.raises(InputError, match="all addresses"):
            chosen_token(everything, "a" * 20)
    assert chosen_token("192.168.1.4", "a1" * 10) == "a1" * 10
    assert allowed_hosts("192.168.1.4", 80) == {"192.168.1.4:80"}
    command = [sys.executable, "-m", "vibrid.cli", "studio", "--host", "192.168.1.4", "--no-open"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "--token" in refused.stderr and not refused.stdout


# -- paths ---------------------------------------------------------------------------------------------------------

PATHS = [
    "../a.csv", "..%2Fa.csv", "%2e%2e%2fa.csv", "..%5Ca.csv", "%2Fetc%2Fpasswd", ".hidden", ".studio", "a%00.csv",
    "C%3A%5Ca.csv", "con.csv", "a%0Ab.csv", "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_no_name_leads_out_of_the_workspace(studio, name):
    before = sorted(p for p in studio.folder.parent.rglob("*") if "sqlite" not in p.name)
    for method, path in (("PUT", f"files/{name}"), ("DELETE", f"files/{name}"), ("GET", f"projects/{name}")):
        status, said = _quiet(studio, method, path, b"0" if method == "PUT" else None)
        assert status in (400, 404, 405), said
    assert sorted(p for p in studio.folder.parent.rglob("*") if "sqlite" not in p.name) == before


def _quiet(studio, method, path, body):
    status, _, said = studio.request(method, f"/api/{path}", body, bearer(studio))
    return status, said


@pytest.mark.parametrize(
    "path", ["/page/../server.py", "/page/%2e%2e/server.py", "/page/../../../../etc/passwd", "//etc/passwd"]
)
def test_the_files_of_the_page_are_a_list(studio, path):
    status, _, body = studio.request("GET", path)
    assert status == 404 and b"import" not in body


@pytest.mark.parametrize(
    "file", ["/etc/passwd", "../secret.csv", "~/secret.csv", "..\\secret.csv", "link.csv", "a/../../secret.csv"]
)
def test_a_project_that_names_a_file_outside_is_refused(studio, file):
    secret = studio.folder.parent / "secret.csv"
    secret.write_text("time [s],x [m]\n0,1\n1,2\n")
    link = studio.folder / "link.csv"
    if not link.is_symlink():
        link.symlink_to(secret)
    text = (
        f'[structure]\nkind = "shear-building"\nmasses = [1.0]\nstoreys = []\n[records]\nfiles = [{json.dumps(file)}]\n'
    )
    (studio.folder / "bad.toml").write_text(text)
    for path, content in (
        ("calculate", {"what": "describe", "project": "bad.toml"}),
        ("jobs", {"kind": "identify", "project": "bad.toml"}),
    ):
        status, said = studio.ask("POST", path, content)
        assert status == 400 and "outside the workspace" in said["problem"]
    if file == "link.csv":
        for path, content in (("look", {"file": file}), ("ticket", {"file": file})):
            status, said = studio.ask("POST", path, content)
            assert status == 400 and "outside the workspace" in said["problem"]


def test_no_program_is_brought_or_run(studio):
    for name in ("plugin.py", "model.pkl", "model.PICKLE"):
        status, said = studio.ask("PUT", f"files/{name}", b"import os")
        assert status == 400 and "executed" in said["problem"] and not (studio.folder / name).exists()
    (studio.folder / "bad.toml").write_text('plugins = ["laws.py"]\n[structure]\nkind = "shear-building"\n')
    status, said = studio.ask("POST", "calculate", {"what": "describe", "project": "bad.toml"})
    assert status == 400 and "runs none" in said["problem"]


@pytest.mark.parametrize(
    "job",
    [
        {"kind": "rm"},
        {"kind": "identify", "project": "p.toml", "options": {"method": "--trust"}},
        {"kind": "identify", "project": "p.toml", "options": {"method": "ukf --trust"}},
        {"kind": "identify", "project": "../p.toml"},
        {"kind": "identify", "project": "--help"},
        {"kind": "predict", "options": {"job": "../1", "record": "p.toml"}},
        {"kind": "predict", "options": {"job": 1, "record": "../p.toml"}},
        {"kind": "online", "project": "p.toml", "options": {"record": "udp://:5005"}},
        {"kind": "identify", "project": "p.toml", "options": [1]},
    ],
    ids=str,
)
def test_a_job_is_no_way_to_the_command_line(studio, job):
    (studio.folder / "p.toml").write_text('[structure]\nkind = "shear-building"\n')
    before = studio.get("state")["jobs"]
    status, said = studio.ask("POST", "jobs", job)
    assert status == 400 and said["problem"].endswith((".", "?")) and studio.get("state")["jobs"] == before


@pytest.mark.parametrize("runs", [None, [], ["1"], [True], [1] * 9, [99], [{"../../x": 1}]], ids=str)
def test_a_prediction_reads_results_of_runs_and_records_of_the_workspace_only(studio, runs):
    studio.ask("PUT", "projects/predicted.toml", {"text": 'title = "t"\n', "mark": None})
    asked = {"what": "predict", "project": "predicted.toml", "runs": runs, "record": "../a.csv"}
    status, said = studio.ask("POST", "calculate", {**asked, "results": {"1": "/etc/passwd"}})
    assert status == 400 and ("runs to predict with" in said["problem"] or "no run 99" in said["problem"])


def test_files_of_jobs_are_named_and_not_searched(studio):
    for name in ("../jobs.sqlite", "lock", "job.json/../../jobs.sqlite", "/etc/passwd"):
        assert studio.ask("POST", "ticket", {"job": 1, "file": name})[0] == 400
    assert studio.request("GET", "/ticket/guess")[0] == 404


def test_a_report_is_shown_once_under_a_policy_of_its_own(studio):
    (studio.folder / "report.html").write_text("<script>fetch('/api/state')</script>")
    ticket = studio.post("ticket", {"file": "report.html", "show": True})["address"]
    status, headers, body = studio.request("GET", ticket)
    assert status == 200 and b"fetch" in body
    policy = headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'") and "allow-same-origin" not in policy
    assert studio.request("GET", ticket)[0] == 404
    (studio.folder / "other.toml").write_text("")
    status, said = studio.ask("POST", "ticket", {"file": "other.toml", "show": True})
    assert status == 400 and "Only a report" in said["problem"]


# -- files ---------------------------------------------------------------------------------------------------------


def test_an_upload_that_is_too_large_leaves_nothing(tmp_path):
    """Through the application itself: a small limit, and a body that never says how long it is."""
    import asyncio

    from vibrid.studio.server import Settings, make_app

    async def attempt():
        app = make_app(Settings(Workspace(tmp_path), "t" * 20, frozenset({"h:1"}), largest_upload=1000))
        headers = [(b"host", b"h:1"), (b"authorization", b"Bearer " + b"t" * 20)]
        scope = {
            "type": "http",
            "method": "PUT",
            "path": "/api/files/a.csv",
            "raw_path": b"",
            "query_string": b"",
            "headers": headers,
        }
        said = []

        async def receive():
            return {"type": "http.request", "body": b"0" * 600, "more_body": True}

        async def send(message):
            said.append(message)

        await app(scope, receive, send)
        return said

    said = asyncio.run(attempt())
    assert said[0]["status"] == 413 and b"accepted" in said[1]["body"]
    assert [p.name for p in tmp_path.iterdir()] == [".studio"]


def test_a_file_is_never_overwritten_by_an_upload(studio):
    assert studio.ask("PUT", "files/once.csv", b"time [s],x [m]\n0,1\n1,2\n")[0] == 200
    status, said = studio.ask("PUT", "files/once.csv", b"other")
    assert status == 409 and "already" in said["problem"]


def test_reading_has_limits_of_memory_and_time(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("time [s],a [m]\n" + "\n".join(f"{i},{i}" for i in range(300_000)))
    with pytest.raises(FileProblem, match="memory"):
        look(path, {}, ReadingLimits(memory=200 * 1024**2))
    with pytest.raises(FileProblem, match="processor time"):
        look(path, {}, ReadingLimits(processor=0))
    with pytest.raises(FileProblem, match=r"within 0\.05 s"):
        look(path, {}, ReadingLimits(seconds=0.05))
    assert look(path, {})["records"][0]["samples"] == 300_000


def test_what_is_too_much_to_read_is_never_read_without_limits(tmp_path):
    """A file that a project names is tried in the process with limits first, once; other texts name none."""
    (tmp_path / "large.csv").write_text("time [s],a [m]\n" + "\n".join(f"{i},{i}" for i in range(300_000)))
    (tmp_path / "strange.csv").write_text("no table\n")
    with pytest.raises(FileProblem, match="memory"):
        Looks(ReadingLimits(memory=200 * 1024**2)).refuse_unbounded([tmp_path / "large.csv"])
    looks = Looks(ReadingLimits())
    named = [tmp_path / name for name in ("large.csv", "strange.csv", "absolute_acceleration", "", "x" * 5000, "a\0")]
    looks.refuse_unbounded(named)
    looks.limits = ReadingLimits(memory=1)
    looks.refuse_unbounded(named)
    (tmp_path / "strange.csv").write_text("another\n")
    with pytest.raises(FileProblem, match="memory"):
        looks.refuse_unbounded(named)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x89PNG\r\n\x1a\n" + bytes(100), b"\x80\x04\x95cos\nsystem\n", b"\x89HDF\r\n\x1a\n" + b"\xff" * 900],
)
def test_what_is_no_record_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "strange.dat"
    path.write_bytes(content)
    with pytest.raises(FileProblem) as refused:
        look(path, {})
    assert str(tmp_path) not in str(refused.value) and str(refused.value).startswith("strange.dat: ")


def test_requests_are_tables_of_a_bounded_size(studio):
    for body in (b"", b"[1]", b"{", b"[" * 100_000):
        assert studio.request("POST", "/api/look", body, bearer(studio))[0] == 400
    assert studio.request("POST", "/api/edit", b'{"text": "' + b"0" * 5_000_000 + b'"}', bearer(studio))[0] == 413
    status, said = studio.ask("POST", "look", {"file": "once.csv", "reading": {"sidecar": "/etc/passwd"}})
    assert status == 400 and "sidecar" in said["problem"]


def test_a_project_that_another_program_changed_is_not_overwritten(studio):
    text = 'title = "a"\n'
    status, made = studio.ask("PUT", "projects/mine.toml", {"text": text, "mark": None})
    assert status == 200
    status, said = studio.ask("PUT", "projects/mine.toml", {"text": "x", "mark": None})
    assert status == 409 and "already" in said["problem"]
    (studio.folder / "mine.toml").write_text('title = "b"\n')
    status, said = studio.ask("PUT", "projects/mine.toml", {"text": text, "mark": made["mark"]})
    assert status == 409 and "changed by another" in said["problem"]
    assert (studio.folder / "mine.toml").read_text() == 'title = "b"\n'
