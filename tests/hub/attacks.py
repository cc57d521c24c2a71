"""What a hostile student tries against the hub and the other students, and how long the others wait meanwhile."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from grading import RIGHT, Course
from machine import environment
from run import CHAPTER, HERE, HUB, PASSWORD, PREFIX
from student import LIMIT, Student

# What a student takes from the others, as cells.
TAKEN = {
    "processes": """
        for _ in 0..3000 {
            if std::process::Command::new("sleep").arg("10").spawn().is_err() { break; }
        }
        std::thread::sleep(std::time::Duration::from_secs(5));
    """,
    "memory": """
        let mut all: Vec<Vec<u8>> = Vec::new();
        for _ in 0..64 { all.push(vec![1; 1 << 28]); }
    """,
    "the processors": """
        let threads: Vec<_> = (0..64).map(|n| std::thread::spawn(move || {
            let start = std::time::Instant::now();
            let mut i = n as u64;
            while start.elapsed().as_secs() < 6 { i = std::hint::black_box(i * 3 + 1) % 1_000_003; }
        })).collect();
        for thread in threads { thread.join().unwrap(); }
    """,
    "the home": """
        let home = std::env::var("HOME").unwrap();
        let mut file = std::fs::File::create(format!("{home}/full")).unwrap();
        while std::io::Write::write_all(&mut file, &[7; 1 << 20]).is_ok() {}
    """,
    "the temporary folder": """
        for n in 0..5000 { std::fs::write(format!("/tmp/of-student4-{n}"), [7; 4096]).unwrap(); }
        for n in 0..5000 { std::fs::remove_file(format!("/tmp/of-student4-{n}")).unwrap(); }
    """,
}
PUPILS = 200


def as_user(name: str, *arguments: str) -> str:
    user = pwd.getpwnam(name)
    done = subprocess.run(
        [sys.executable, *arguments], user=user.pw_uid, group=user.pw_gid, extra_groups=[], env=environment(),
        cwd="/", text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def strangers(students: list[Student], course: Course, kernel: int, hub: int) -> int:
    """Attacks the files and processes of one student, of the class and of the hub as another student."""
    victim, other = students[0], students[1]
    course.submit(victim.name, RIGHT)
    home = Path(pwd.getpwnam(victim.name).pw_dir)
    sockets = sorted(str(p) for p in home.rglob("kernel-*-ipc-*"))
    assert len(sockets) == 5, f"the kernel has five sockets: {sockets}"
    # As on servers where users can enter the homes of others: files and sockets must be protected on their own.
    os.chmod(home, 0o755)
    task = {
        "sockets": sockets,
        "session": str(next(home.glob(".cache/taper/sessions/*/work")) / "src/lib.rs"),
        "kernel": kernel,
        "home": str(home),
        "store": str(PREFIX / "store"),
        "hub": str(PREFIX / "state"),
        "hub_process": hub,
        "course": str(course.path),
        "exchange": str(PREFIX / "exchange"),
    }
    said = as_user(other.name, str(HERE / "stranger.py"), json.dumps(task))
    os.chmod(home, 0o700)
    print(said, end="")
    return said.count("refused: ")


def requests_of_strangers(students: list[Student]) -> int:
    """Sends requests with the token of one student to the server of another, and to the hub."""
    victim, other = students[0], students[1]
    token = {"Authorization": f"token {other.token}"}
    api, user = f"{HUB}/hub/api", f"{HUB}/user/{victim.name}"
    tricks = f"{HUB}/user/{other.name}"
    tried = [
        ("list the kernels of another", "GET", f"{user}/api/kernels", token),
        ("use the kernel of another", "GET", f"{user}/api/kernels/{victim.kernel}", token),
        ("interrupt the kernel of another", "POST", f"{user}/api/kernels/{victim.kernel}/interrupt", token),
        ("end the kernel of another", "DELETE", f"{user}/api/kernels/{victim.kernel}", token),
        ("read a file of another", "GET", f"{user}/files/{CHAPTER}", token),
        ("replace a file of another", "PUT", f"{user}/api/contents/{CHAPTER}", token),
        ("open the terminal of another", "POST", f"{user}/api/terminals", token),
        ("open a terminal where there are none", "POST", f"{tricks}/api/terminals", token),
        ("leave the own server by a path", "GET", f"{tricks}/%2e%2e/{victim.name}/api/contents", token),
        ("leave the own files by a path", "GET", f"{tricks}/files/..%2f..%2f{victim.name}/{CHAPTER}", token),
        ("list the users", "GET", f"{api}/users", token),
        ("read another user", "GET", f"{api}/users/{victim.name}", token),
        ("end the server of another", "DELETE", f"{api}/users/{victim.name}/server", token),
        ("start the server of another", "POST", f"{api}/users/{victim.name}/server", token),
        ("get a token of another", "POST", f"{api}/users/{victim.name}/tokens", token),
        ("delete another user", "DELETE", f"{api}/users/{victim.name}", token),
        ("add a user", "POST", f"{api}/users/new", token),
        ("become an administrator", "PATCH", f"{api}/users/{other.name}", token),
        ("read the routes of the proxy", "GET", f"{api}/proxy", token),
        ("shut the hub down", "POST", f"{api}/shutdown", token),
        ("use the proxy without its token", "GET", "http://127.0.0.1:8001/api/routes", {}),
        ("use the hub without a token", "GET", f"{api}/users", {}),
        ("use a server with a forged header", "GET", f"{user}/api/contents", {"X-Forwarded-User": victim.name}),
        ("use a server with a forged cookie", "GET", f"{user}/api/contents", {"Cookie": "jupyterhub-session-id=1"}),
    ]
    for what, method, url, headers in tried:
        # As it is: `requests` would remove the dots.
        request = requests.Request(method, url, headers=headers, json={"admin": True}).prepare()
        request.url = url
        answer = requests.Session().send(request, timeout=LIMIT, allow_redirects=False)
        assert answer.status_code in (302, 400, 401, 403, 404, 405), f"{what}: {answer.status_code} {answer.text[:300]}"
        print(f"refused: {what} ({answer.status_code})", flush=True)
    assert victim.run("1 + 1")[1] is None, "the victim's kernel still works"
    return len(tried)


def sign_ins() -> int:
    """Tries to sign in without a password, and as users who are no students."""
    tried = [("a wrong password", "student1", "wrong"), ("no password", "student1", ""), ("root", "root", "toor"),
             ("the teacher, who is no student", "teacher", PASSWORD), ("a user that does not exist", "nobody1", "x"),
             ("a name with a path", "../student1", PASSWORD)]  # fmt: skip
    for what, name, password in tried:
        try:
            Student(HUB, name, password)
        except AssertionError:
            print(f"refused: sign in with {what}", flush=True)
            continue
        raise AssertionError(f"signed in with {what}")
    return len(tried)


def hostile_homes(student: Student) -> int:
    """Starts the server of a student whose home has links and pipes where files are expected."""
    user = pwd.getpwnam(student.name)
    home = Path(user.pw_dir)

    def pipe(path: Path) -> None:
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    def link(path: Path, to: str) -> None:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        path.symlink_to(to)

    tried = [
        ("a pipe for the course's list", lambda: pipe(home / "course/.taper-course.json")),
        ("a pipe for a chapter", lambda: pipe(home / CHAPTER)),
        ("a link to /dev/zero for a chapter", lambda: link(home / CHAPTER, "/dev/zero")),
        ("a link to the system's users for a chapter", lambda: link(home / CHAPTER, "/etc/passwd")),
        ("a link to another's course", lambda: link(home / "course", "/home/student1/course")),
        ("a link to nowhere for the course", lambda: link(home / "course", "/nowhere")),
        ("a course that cannot be written", lambda: ((home / "course").unlink(), (home / "course").mkdir(0o500))),
    ]
    users = Path("/etc/passwd").read_text()
    (home / "full").unlink(missing_ok=True)
    for what, prepare in tried:
        student.stop_server()
        prepare()
        subprocess.run(["chown", "-hR", f"{user.pw_uid}:{user.pw_gid}", home], check=True)
        began = time.monotonic()
        student.start_server()
        assert Path("/etc/passwd").read_text() == users
        print(f"harmless: {what}; the server starts in {time.monotonic() - began:.1f} s", flush=True)
    student.stop_server()
    return len(tried)


def undisturbed(students: list[Student]) -> int:
    """Runs cells of all students but one, who uses up what they share; prints how long the others wait."""
    *others, hostile = students
    everyone = ThreadPoolExecutor(len(students))

    def answered(student: Student) -> float:
        began = time.monotonic()
        # A new cell each time: an old one is not compiled again.
        _, failed = student.run(f"{time.monotonic_ns()}_u64 + 1")
        assert failed is None, f"{student.name}: {failed}"
        return time.monotonic() - began

    def waited(what: str) -> None:
        times = sorted(everyone.map(answered, others))
        print(f"{what}, the others wait for {', '.join(f'{t:.1f}' for t in times)} s", flush=True)

    waited("before")
    for what, code in TAKEN.items():
        attack = everyone.submit(hostile.run, code)
        time.sleep(1)
        waited(f"while {hostile.name} takes {what}")
        attack.result()
    return len(TAKEN)


def many_sign_in(students: list[Student]) -> int:
    """Lets 200 users sign in within a minute, without browsers; prints how long the hub's answers and a cell take."""
    add_pupils(students[0].name)
    names = [f"pupil{number}" for number in range(PUPILS)]
    began = time.monotonic()
    with ThreadPoolExecutor(8) as browsers:
        signed_in = [browsers.submit(Student, HUB, name, PASSWORD) for name in names]
        answers, cells = [], []
        while not all(one.done() for one in signed_in):
            start = time.monotonic()
            assert requests.get(f"{HUB}/hub/health", timeout=LIMIT).ok
            answers.append(time.monotonic() - start)
            start = time.monotonic()
            assert students[0].run(f"{time.monotonic_ns()}_u64 + 1")[1] is None
            cells.append(time.monotonic() - start)
        for one in signed_in:
            one.result()
    print(
        f"{PUPILS} students sign in within {time.monotonic() - began:.1f} s; meanwhile the hub answers after "
        f"{max(answers):.1f} s at most, and a cell of another takes {max(cells):.1f} s at most",
        flush=True,
    )
    return 1


def add_pupils(known: str) -> None:
    """Adds users to this test's copies of the system's files, with the password of a known user."""
    secret = next(line for line in Path("/etc/shadow").read_text().splitlines() if line.startswith(f"{known}:"))
    number = pwd.getpwnam(known).pw_gid
    users, shadow = [], []
    for pupil in range(PUPILS):
        users.append(f"pupil{pupil}:x:{30000 + pupil}:{number}::/nonexistent:/bin/bash\n")
        shadow.append(secret.replace(known, f"pupil{pupil}", 1) + "\n")
    for file, lines in [("/etc/passwd", users), ("/etc/shadow", shadow)]:
        with open(file, "a") as opened:
            opened.writelines(lines)
    group = Path("/etc/group")
    members = ",".join(f"pupil{pupil}" for pupil in range(PUPILS))
    lines = [f"{line},{members}" if line.startswith("students:") else line for line in group.read_text().splitlines()]
    group.write_text("\n".join(lines) + "\n")
