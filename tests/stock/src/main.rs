//! Stock evcxr_jupyter, as `cargo install evcxr_jupyter` builds it: the notebooks must run under it too.

fn main() -> anyhow::Result<()> {
    evcxr_jupyter::main()
}
