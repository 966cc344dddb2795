mod foretelling;
mod sharing;
