//! Prepares the bundle's context. Makes an empty `ui/dist` when the UI is not built yet, so that
//! the workspace compiles without Node; `make` builds the UI first.

fn main() {
    let dist = std::path::Path::new("../ui/dist");
    if let Err(error) = std::fs::create_dir_all(dist) {
        println!("cargo::error=failed to make `{}`: {error}", dist.display());
    }
    println!("cargo::rerun-if-changed=../ui/dist");
    tauri_build::build();
}
