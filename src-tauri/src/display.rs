//! What the web view needs of the system before it starts.

/// On a Linux machine without a graphics device WebKit draws through shared buffers that the processor then has to copy, a
/// third of a core for a page that does nothing; this switch makes it draw directly. It is read when the library is loaded
/// and inherited by its processes, so the program starts itself once more with it, in the same process.
#[cfg(target_os = "linux")]
pub fn prepare() {
    use std::os::unix::process::CommandExt;
    const SWITCH: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
    if std::path::Path::new("/dev/dri").exists() || std::env::var_os(SWITCH).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).env(SWITCH, "1").exec();
    eprintln!("onceover: drawing will be slow, because {SWITCH} could not be set: {error}");
}

/// Other systems bring their own web view.
#[cfg(not(target_os = "linux"))]
pub fn prepare() {}
