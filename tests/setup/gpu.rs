//! The device that set-up chooses, with scripts in place of `nvidia-smi` that answer like real drivers.

use super::place::{Call, Place, Said, programs_without, script, with_first};
use std::fs;
use std::path::PathBuf;

/// Cells that fail if the packages are built for another device.
const ON_CUDA: &str = "assert_eq!(built_for(), \"cudnn\");";
const ON_CUDA_WITHOUT_CUDNN: &str = "assert_eq!(built_for(), \"cuda\");";
const ON_CPU: &str = "assert_eq!(built_for(), \"cpu\");";

/// Returns the script of a driver that supports CUDA up to this version, with one GPU.
fn driver(version: &str, cuda: &str, card: &str) -> String {
    format!(
        "case \"$1\" in\n\
         --query-gpu=*) echo '{version}, {card}' ;;\n\
         *) echo '| NVIDIA-SMI {version}   Driver Version: {version}   CUDA Version: {cuda} |' ;;\n\
         esac"
    )
}

fn h200() -> String {
    driver("580.95.05", "13.0", "9.0, NVIDIA H200")
}

/// Returns a call with this script as `nvidia-smi`.
fn on<const N: usize>(place: &Place, driver: &str, arguments: [&str; N]) -> Call {
    let folder = place.path().join("driver");
    script(
        &folder.join("nvidia-smi"),
        &format!("#!/bin/sh\n{driver}\n"),
    );
    place.taper(arguments).env("PATH", with_first(&folder))
}

fn line<'a>(doctor: &'a Said, name: &str) -> &'a str {
    let mark = format!(" {name}: ");
    let mut lines = doctor.text.lines();
    lines
        .find(|line| line.contains(&mark))
        .unwrap_or_else(|| panic!("{name}:\n{}", doctor.text))
}

fn cargo_config(place: &Place) -> String {
    let work = place.image().expect("there is an image");
    fs::read_to_string(work.with_file_name(".cargo/config.toml")).expect("it is configured")
}

#[test]
fn a_gpu_gets_an_image_for_cuda_and_doctor_shows_each_link() {
    let place = Place::empty();
    on(&place, &h200(), ["setup", "--cuda"])
        .run()
        .succeeds()
        .says("Installing CUDA 13.0")
        .says("built for CUDA, compute capability 9.0 (NVIDIA H200, driver 580.95.05)");
    let config = cargo_config(&place);
    assert!(
        config.contains("CUDA_COMPUTE_CAP = { value = \"90\", force = true }"),
        "{config}"
    );
    assert!(
        config.contains("CUDARC_CUDA_VERSION = { value = \"13000\""),
        "{config}"
    );
    place.run_cell(ON_CUDA).succeeds();

    // Every link is present except the GPU itself, which the stand-in does not have.
    let doctor = on(&place, &h200(), ["doctor"]).run().fails();
    assert!(
        line(&doctor, "NVIDIA driver")
            .starts_with("ok      NVIDIA driver: 580.95.05, runs CUDA up to 13.0")
    );
    assert!(line(&doctor, "GPU").ends_with("NVIDIA H200 (9.0)"));
    assert!(line(&doctor, "CUDA toolkit").starts_with("ok "));
    let cudnn = line(&doctor, "cuDNN");
    assert!(
        cudnn.starts_with("ok ") && cudnn.ends_with("nvidia/cudnn/lib/libcudnn.so.9"),
        "{cudnn}"
    );
    assert!(line(&doctor, "built for").contains("compute capability 9.0"));
    let product = line(&doctor, "product on the GPU");
    assert!(
        product.starts_with("MISSING") && product.ends_with("this is a stand-in. Use cpu()"),
        "{product}"
    );

    // Without the driver, the same packages start, and doctor names the next step.
    let doctor = place.taper(["doctor"]).run();
    assert!(line(&doctor, "NVIDIA driver").contains("finds no GPU"));
    let toolkit = place.cache().join("python");
    for environment in fs::read_dir(toolkit).expect("a folder").flatten() {
        let _ = fs::remove_dir_all(environment.path().join("lib"));
    }
    let doctor = on(&place, &h200(), ["doctor"]).run().fails();
    assert!(line(&doctor, "CUDA toolkit").ends_with("is gone; run `cargo taper setup`"));
    let cudnn = line(&doctor, "cuDNN");
    assert!(
        cudnn.starts_with("-  ") && cudnn.ends_with("is gone; convolutions and their gradients are slower without it; run `cargo taper setup`"),
        "{cudnn}"
    );

    // The decision is valid until the next set-up.
    place.run_cell(ON_CUDA).succeeds();
    on(&place, &h200(), ["setup", "--cpu"])
        .run()
        .succeeds()
        .says("built for the CPU, as asked");
    place.run_cell(ON_CPU).succeeds();
    let doctor = on(&place, &h200(), ["doctor"]).run().succeeds();
    assert!(
        line(&doctor, "built for").ends_with("There is a GPU: run `cargo taper setup` to use it")
    );
}

#[test]
fn the_checks_of_a_gpu_need_a_complete_clone() {
    let check = Place::empty().taper(["gpu-check"]).run();
    check.fails().says("from a complete clone of Taper");
}

#[test]
fn unusable_drivers_leave_the_cpu_and_the_reason() {
    let place = Place::ready();
    let mismatch = "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18";
    let old = driver("535.216.01", "12.2", "7.5, Tesla T4");
    let pascal = driver("580.95.05", "13.0", "6.1, NVIDIA GeForce GTX 1080");
    for (driver, why) in [
        (
            mismatch,
            "the NVIDIA driver does not work: Failed to initialize NVML",
        ),
        (
            &*old,
            "the NVIDIA driver 535.216.01 is too old: it runs CUDA up to 12.2",
        ),
        (
            &*pascal,
            "NVIDIA GeForce GTX 1080 has compute capability 6.1",
        ),
        ("exit 0", "the NVIDIA driver finds no GPU"),
    ] {
        on(&place, driver, ["setup"]).run().succeeds().says(why);
        let doctor = on(&place, driver, ["doctor"]).run().succeeds();
        assert!(line(&doctor, "built for").contains(why), "{}", doctor.text);
    }
    for (driver, step) in [
        (&old, "Update the driver to 580"),
        (&pascal, "Install a CUDA toolkit 12.x"),
    ] {
        let asked = on(&place, driver, ["setup", "--cuda"]);
        asked
            .run()
            .fails()
            .says("Taper cannot be built for CUDA")
            .says(step);
    }
    let programs = programs_without(place.path(), |name| name == "nvidia-smi");
    let none = |arguments| place.taper(arguments).env("PATH", &programs).run();
    none(["setup"])
        .succeeds()
        .says("there is no NVIDIA driver (no nvidia-smi)");
    let doctor = none(["doctor"]).succeeds();
    assert!(line(&doctor, "NVIDIA driver").starts_with("-       NVIDIA driver: none"));
}

#[test]
fn a_matching_toolkit_of_the_system_is_used() {
    let place = Place::ready();
    let root = toolkit(&place, "12.8");
    let old = driver("570.86.15", "12.8", "8.6, NVIDIA RTX A2000, 12GB");
    on(&place, &old, ["setup", "--cuda=8.6"])
        .env("CUDA_HOME", &root)
        .run()
        .succeeds()
        .says(&format!("with the toolkit 12.8 in {}", root.display()));
    assert!(cargo_config_of_last(&place).contains("CUDARC_CUDA_VERSION = { value = \"12080\""));
    place.run_cell(ON_CUDA_WITHOUT_CUDNN).succeeds();
    let doctor = on(&place, &old, ["doctor"]).run();
    let without = "none; convolutions and their gradients are slower without it. Install cuDNN 9 for the toolkit's";
    assert!(line(&doctor, "cuDNN").contains(without), "{}", doctor.text);
    // With cuDNN, the next set-up uses it.
    fs::write(root.join("lib64/libcudnn.so.9"), "").expect("written");
    on(&place, &old, ["setup", "--cuda=8.6"])
        .env("CUDA_HOME", &root)
        .run()
        .succeeds();
    place.run_cell(ON_CUDA).succeeds();
    // A toolkit that is newer than the driver is refused.
    let root = toolkit(&place, "12.9");
    on(&place, &old, ["setup", "--cuda"])
        .env("CUDA_HOME", &root)
        .run()
        .fails()
        .says("the NVIDIA driver 570.86.15 is too old");
    let wrong = on(&place, &old, ["setup", "--cuda=86"]).run();
    assert!(!wrong.status.success());
    wrong.says("write one like 8.6");
}

/// Creates the files of a toolkit of this version that set-up checks.
fn toolkit(place: &Place, version: &str) -> PathBuf {
    let root = place.path().join(format!("cuda-{version}"));
    let said = format!("Cuda compilation tools, release {version}, V{version}.93");
    script(
        &root.join("bin/nvcc"),
        &format!("#!/bin/sh\necho '{said}'\n"),
    );
    fs::create_dir_all(root.join("include")).expect("a folder");
    fs::create_dir_all(root.join("lib64")).expect("a folder");
    for file in [
        "include/cuda_runtime.h",
        "lib64/libcublas.so.12",
        "lib64/libcublasLt.so.12",
        "lib64/libcurand.so.10",
        "lib64/libnvrtc.so.12",
    ] {
        fs::write(root.join(file), "").expect("written");
    }
    root
}

/// Returns cargo's configuration of the image that sessions use now.
fn cargo_config_of_last(place: &Place) -> String {
    let images = fs::read_dir(place.cache().join("images")).expect("images");
    let configs = images
        .flatten()
        .filter_map(|image| fs::read_to_string(image.path().join(".cargo/config.toml")).ok());
    configs.filter(|config| config.contains("[env]")).collect()
}

#[test]
fn killed_while_cuda_is_installed() {
    let place = Place::empty();
    let call = || on(&place, &h200(), ["setup"]);
    let mut setup = call().start();
    assert!(setup.until(|setup| setup.said().contains("Installing CUDA")));
    setup.kill();
    call().run().succeeds().says("Taper is ready");
    place.run_cell(ON_CUDA).succeeds();
}

#[test]
fn a_program_finds_what_it_needs_to_compile_for_cuda() {
    let place = Place::empty();
    place
        .taper([
            "cuda",
            "sh",
            "-c",
            "echo $CUDA_HOME $NVCC $CUDA_COMPUTE_CAP",
        ])
        .run()
        .succeeds()
        .says("/bin/nvcc 75");
    place
        .taper(["cuda", "--", "no-such-program"])
        .run()
        .fails()
        .says("starting no-such-program");
}
