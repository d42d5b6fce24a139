//! The time zone of the machine, in which calendar patterns without a zone are meant.

use onceover_engine::calendar::Zone;

/// The zone that `TZ` names, else the system's, else UTC.
#[must_use]
pub fn host_zone() -> Zone {
    let named = std::env::var("TZ").ok().and_then(|name| Zone::parse(name.trim_start_matches(':')).ok());
    let found = named.or_else(|| Zone::parse(&iana_time_zone::get_timezone().ok()?).ok());
    found.unwrap_or_else(|| {
        tracing::warn!("the time zone of this machine is not known: schedules without a zone are read in UTC");
        Zone::utc()
    })
}
