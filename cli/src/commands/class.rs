//! `taper class`: prepares a folder for a class on one server, with JupyterHub and nbgrader.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use taper_host::{cache, checkout, toolchain};

/// The file in the folder of a class with the answers.
const ANSWERS: &str = "class.json";

/// Prepare a folder for a class on this machine: JupyterHub, nbgrader and the compiled packages.
///
/// Asks in a terminal for each value that no option sets. A second call updates the class, and keeps earlier answers.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the class, such as /opt/class
    pub(crate) folder: PathBuf,
    /// The name of the course
    #[arg(long)]
    pub(crate) course: Option<String>,
    /// The group of this machine's users who are students
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// The user of this machine who grades
    #[arg(long)]
    pub(crate) teacher: Option<String>,
    /// The address at which the hub listens
    #[arg(long)]
    pub(crate) address: Option<String>,
    /// The memory of a student's cells
    #[arg(long)]
    pub(crate) memory: Option<String>,
    /// Try the class with two students and an assignment that exist only for this check
    #[arg(long, conflicts_with_all = ["course", "group", "teacher", "address", "memory"])]
    pub(crate) check: bool,
}

/// Something that the command asks.
struct Question {
    name: &'static str,
    text: &'static str,
    default: &'static str,
    expected: &'static str,
    is_answer: fn(&str) -> bool,
}

const QUESTIONS: [Question; 5] = [
    Question {
        name: "course",
        text: "The name of the course",
        default: "rust101",
        expected: "letters, digits, `-` and `_`",
        is_answer: is_name,
    },
    Question {
        name: "group",
        text: "The group of the users who are students",
        default: "students",
        expected: "the name of a group",
        is_answer: is_name,
    },
    Question {
        name: "teacher",
        text: "The user who grades",
        default: "teacher",
        expected: "the name of a user who is not root",
        is_answer: |answer| is_name(answer) && answer != "root",
    },
    Question {
        name: "address",
        text: "The address of the hub",
        default: "http://127.0.0.1:8000",
        expected: "an address such as http://127.0.0.1:8000, not of the ports 8001 and 8081, which JupyterHub uses itself; a \
                   server in front of it speaks HTTPS",
        is_answer: is_address,
    },
    Question {
        name: "memory",
        text: "The memory of a student's cells",
        default: "2G",
        expected: "an integer with the unit `M` or `G`, such as 2G",
        is_answer: is_memory,
    },
];

type Answers = BTreeMap<String, String>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    ensure!(cfg!(target_os = "linux"), "a class needs Linux");
    ensure!(
        rustix::process::geteuid().is_root(),
        "a class serves all users of this machine: run the same command as root"
    );
    let packaging = checkout::folder()?.join("packaging");
    if arguments.check {
        return check(&arguments.folder, &packaging);
    }
    ensure!(
        checkout::is_carried(),
        "students use an installed Taper: build one with `packaging/wheel dist`, install it with pip, and run \
         `taper class` instead of `cargo taper class`"
    );
    let rustc = &toolchain::get()?.rustc;
    ensure!(
        crate::setup::store::is_for_all(rustc),
        "only you can run {}: `cp -r \"$(rustc --print sysroot)\" /opt/rust` copies Rust to where students can; then \
         run the same command again with `PATH=/opt/rust/bin:$PATH`",
        rustc.display()
    );
    cache::make(&arguments.folder)?;
    let folder = arguments.folder.canonicalize()?;
    let answers = answers(arguments, &known(&folder)?)?;
    exists("group", &answers["group"], "groupadd")?;
    exists("passwd", &answers["teacher"], "useradd --create-home")?;
    cache::write_atomically(
        &folder.join(ANSWERS),
        serde_json::to_string_pretty(&answers)?.as_bytes(),
    )?;
    allow(&folder.join(ANSWERS), 0o644)?;
    let install = Command::new("bash")
        .arg(packaging.join("jupyterhub/install"))
        .args([&std::env::current_exe()?, &folder])
        .status()
        .context("starting bash")?;
    ensure!(
        install.success(),
        "the class is not complete: fix the problems above, then run the same command again"
    );
    add_course(&folder, &packaging, &answers)?;
    let environment = teacher_environment(&folder, &answers["course"], rustc);
    let file = folder.join("teacher.sh");
    cache::write_atomically(&file, environment.as_bytes())?;
    allow(&file, 0o644)?;
    println!("{}", next_steps(&folder, &answers));
    Ok(ExitCode::SUCCESS)
}

/// Tries the class with users that exist only for this check.
fn check(folder: &Path, packaging: &Path) -> Result<ExitCode> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let python = folder.join("hub/bin/python");
    ensure!(
        python.exists() && folder.join(ANSWERS).exists(),
        "there is no class in {}: run `taper class {}` first",
        folder.display(),
        folder.display()
    );
    let checked = Command::new(python)
        .arg(packaging.join("class/check.py"))
        .arg(&folder)
        .status()
        .context("starting the class's Python")?;
    match checked.success() {
        true => Ok(ExitCode::SUCCESS),
        false => bail!("the class does not work yet: see above"),
    }
}

/// Returns the answers of an earlier call.
fn known(folder: &Path) -> Result<Answers> {
    let file = folder.join(ANSWERS);
    match fs::read(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Answers::new()),
        text => serde_json::from_slice(&text?).with_context(|| {
            let file = file.display();
            format!("{file} is damaged: delete it, then run the same command again")
        }),
    }
}

/// Returns the answers: from the options, an earlier call, or the user at a terminal, or else the defaults.
fn answers(arguments: &Arguments, known: &Answers) -> Result<Answers> {
    let given = [
        &arguments.course,
        &arguments.group,
        &arguments.teacher,
        &arguments.address,
        &arguments.memory,
    ];
    let mut answers = Answers::new();
    for (question, given) in QUESTIONS.iter().zip(given) {
        let answer = match given.as_ref().or(known.get(question.name)) {
            Some(answer) => answer.clone(),
            None if std::io::stdin().is_terminal() => ask(question)?,
            None => question.default.to_owned(),
        };
        question.check(&answer)?;
        answers.insert(question.name.to_owned(), answer);
    }
    Ok(answers)
}

fn ask(question: &Question) -> Result<String> {
    loop {
        print!("{} [{}]: ", question.text, question.default);
        std::io::stdout().flush()?;
        let mut line = String::new();
        ensure!(std::io::stdin().read_line(&mut line)? > 0, "no answer");
        let answer = match line.trim() {
            "" => question.default,
            answer => answer,
        };
        match question.check(answer) {
            Ok(()) => return Ok(answer.to_owned()),
            Err(error) => println!("{error}"),
        }
    }
}

impl Question {
    fn check(&self, answer: &str) -> Result<()> {
        ensure!(
            (self.is_answer)(answer),
            "{} is {answer:?}: expected {}",
            self.name,
            self.expected
        );
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_part)
}

fn is_address(text: &str) -> bool {
    let host = text.strip_prefix("http://");
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-:[]/".contains(c);
    // JupyterHub and its proxy speak to each other there.
    let is_taken = |host: &str| {
        let machine = host.split('/').next().unwrap_or_default();
        machine.ends_with(":8001") || machine.ends_with(":8081")
    };
    host.is_some_and(|host| !host.is_empty() && host.chars().all(is_part) && !is_taken(host))
}

fn is_memory(text: &str) -> bool {
    let number = text.strip_suffix(['M', 'G']).map(str::parse::<u32>);
    number.is_some_and(|number| number.is_ok_and(|number| number > 0))
}

/// Checks that a group or a user of the system exists.
fn exists(database: &str, name: &str, create: &str) -> Result<()> {
    let found = Command::new("getent").args([database, name]).output();
    let kind = if database == "group" { "group" } else { "user" };
    ensure!(
        found.context("starting getent")?.status.success(),
        "there is no {kind} {name}: `{create} {name}` adds it; then run the same command again"
    );
    Ok(())
}

/// Writes what nbgrader needs: its configuration for all, the exchange, and the course of the teacher.
fn add_course(folder: &Path, packaging: &Path, answers: &Answers) -> Result<()> {
    let (course, teacher) = (&answers["course"], &answers["teacher"]);
    let exchange = folder.join("exchange");
    let own = folder.join("course").join(course);
    for (path, mode) in [
        (&folder.join("etc"), 0o755),
        // Every user may add files, and remove only their own: nbgrader needs that.
        (&exchange, 0o1777),
        (&folder.join("course"), 0o755),
        (&own, 0o700),
    ] {
        cache::make(path)?;
        allow(path, mode)?;
    }
    let shared = format!(
        "c = get_config()\nc.CourseDirectory.course_id = {course:?}\nc.Exchange.root = {exchange:?}\n"
    );
    let file = folder.join("etc/nbgrader_config.py");
    cache::write_atomically(&file, shared.as_bytes())?;
    allow(&file, 0o644)?;
    let configuration = own.join("nbgrader_config.py");
    fs::copy(
        packaging.join("nbgrader/nbgrader_config.py"),
        &configuration,
    )
    .with_context(|| format!("writing {}", configuration.display()))?;
    let owned = Command::new("chown")
        .arg(format!("{teacher}:"))
        .args([&own, &configuration])
        .status();
    ensure!(owned.context("starting chown")?.success(), "chown failed");
    Ok(())
}

/// Returns the script that sets what the teacher's commands need, and goes to the course.
fn teacher_environment(folder: &Path, course: &str, rustc: &Path) -> String {
    format!(
        "# nbgrader's commands in the course, and JupyterLab: `source {folder}/teacher.sh`\n\
         export PATH=\"{folder}/hub/bin:{folder}/nbgrader:{rust}:$PATH\"\n\
         export TAPER_STORE=\"{folder}/store\" JUPYTER_CONFIG_PATH=\"{folder}/etc\"\n\
         export JUPYTER_PATH=\"{folder}/store/share/jupyter\"\n\
         cd \"{folder}/course/{course}\" && mkdir -p source\n",
        folder = folder.display(),
        rust = rustc.parent().unwrap_or(rustc).display(),
    )
}

fn allow(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .with_context(|| format!("setting the permissions of {}", path.display()))
}

fn next_steps(folder: &Path, answers: &Answers) -> String {
    let (folder, teacher) = (folder.display(), &answers["teacher"]);
    format!(
        "\
The class is ready.

Try it:             taper class {folder} --check
Start the hub:      {folder}/hub/bin/jupyterhub -f {folder}/jupyterhub_config.py
Students:           users of the group {group}, with a password (`passwd NAME`), at {address}
Assignments:        as {teacher}: source {folder}/teacher.sh

Back up, so that nothing is lost with this machine:
    {folder}/class.json   the answers
    {folder}/course       assignments, submissions and the gradebook
    {folder}/exchange     what is released and submitted
    {folder}/state        the hub's users and secrets
    the homes of the students
`taper class {folder}` makes all other folders again.",
        group = answers["group"],
        address = answers["address"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Arguments {
        Arguments {
            folder: PathBuf::new(),
            course: None,
            group: None,
            teacher: None,
            address: None,
            memory: None,
            check: false,
        }
    }

    #[test]
    fn an_option_comes_before_an_earlier_answer_and_this_before_the_default() {
        let earlier = Answers::from([
            ("course".to_owned(), "earlier".to_owned()),
            ("memory".to_owned(), "1G".to_owned()),
        ]);
        let arguments = Arguments {
            course: Some("now".to_owned()),
            group: Some("everybody".to_owned()),
            teacher: Some("eve".to_owned()),
            address: Some("http://127.0.0.1:9000".to_owned()),
            ..arguments()
        };
        let answers = answers(&arguments, &earlier).expect("answers");
        assert_eq!((&*answers["course"], &*answers["memory"]), ("now", "1G"));
        let steps = next_steps(Path::new("/opt/class"), &answers);
        for text in [
            "users of the group everybody, with a password (`passwd NAME`), at http://127.0.0.1:9000",
            "as eve: source /opt/class/teacher.sh",
        ] {
            assert!(steps.contains(text), "{steps}");
        }
    }

    /// The answers become part of paths, of a shell's script and of Python's code.
    #[test]
    fn answers_that_fit_no_question_are_refused() {
        for (question, answer) in QUESTIONS
            .iter()
            .zip(["a b", "", "root", "http://a\"b", "2"])
        {
            let error = question.check(answer).expect_err(answer).to_string();
            assert!(error.contains(question.expected), "{error}");
            assert!(question.check(question.default).is_ok());
        }
        for answer in ["../x", "-x", "x;y", "$(x)", "é"] {
            assert!(!is_name(answer), "{answer}");
        }
        assert!(!is_memory("0G") && !is_memory("G") && is_memory("512M"));
        // JupyterHub without a certificate would serve passwords in the clear at this address.
        assert!(!is_address("https://a") && is_address("http://[::1]:443"));
        assert!(!is_address("http://a:8001/b") && is_address("http://a:80/8001"));
    }

    #[test]
    fn a_class_that_is_not_there_cannot_be_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = check(folder.path(), Path::new("/none")).expect_err("none");
        assert!(error.to_string().contains("run `taper class"), "{error}");
        fs::write(folder.path().join(ANSWERS), "{").expect("a file");
        let error = known(folder.path()).expect_err("it is damaged").to_string();
        assert!(error.contains("delete it"), "{error}");
    }
}
