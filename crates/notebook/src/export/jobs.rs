//! The job files that start a program as several processes: for Slurm, SkyPilot and Kubernetes.

/// The name and the text of each file. In the text, NAME is replaced with the name of the program.
const FILES: [(&str, &str); 3] = [
    ("slurm.sh", include_str!("jobs/slurm.sh")),
    ("skypilot.yaml", include_str!("jobs/skypilot.yaml")),
    ("mpijob.yaml", include_str!("jobs/mpijob.yaml")),
];

/// Returns the job files of a program: the name of each, and its text.
pub(super) fn jobs(program: &str) -> impl Iterator<Item = (String, String)> {
    FILES.into_iter().map(move |(name, text)| {
        let name = format!("{program}.{name}");
        (name, text.replace("NAME", program))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_starts_the_program_that_it_builds() {
        for (name, text) in jobs("my-net") {
            assert!(name.starts_with("my-net."), "{name}");
            assert!(text.contains("target/release/my-net"), "{name}:\n{text}");
            assert!(!text.contains("NAME"), "{name}:\n{text}");
            // Whether to use these options is the user's choice.
            for option in ["oversubscribe", "allow-run-as-root", "ALLOW_RUN_AS_ROOT"] {
                assert!(!text.contains(option), "{name}: {option}");
            }
        }
    }
}
