//! The page at `/`: what is stored, how long requests take, and a box to search.

/// The page. All that it shows it asks of the server, with the token that is typed into it.
pub const HTML: &str = include_str!("page.html");

/// Nothing from elsewhere, and no other page around it.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
