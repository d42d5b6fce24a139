//! Prepares what the window program embeds: the configuration, the permissions, and the built front end in `ui/dist`.
//!
//! A fresh clone without a built front end still compiles; the window then says so.

use std::path::Path;

fn main() {
    let page = Path::new("ui/dist/index.html");
    if !page.exists() {
        write_placeholder(page).expect("ui/dist can be written");
        println!(
            "cargo:warning=ui/dist is not built: a placeholder page is embedded. Run `npm --prefix ui run build`."
        );
    }
    println!("cargo:rerun-if-changed=ui/dist");
    println!("cargo:rerun-if-changed=src-tauri/capabilities");
    println!("cargo:rerun-if-changed=src-tauri/icons");
    let commands = tauri_build::AppManifest::new().commands(&["rpc", "subscribe", "shell"]);
    let attributes = tauri_build::Attributes::new()
        .app_manifest(commands)
        .capabilities_path_pattern("./src-tauri/capabilities/**/*");
    tauri_build::try_build(attributes).expect("configuration and capabilities of the window are valid");
}

fn write_placeholder(page: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all("ui/dist")?;
    std::fs::write(page, "<!doctype html><title>Onceover</title><p>The front end is not built.</p>")
}
