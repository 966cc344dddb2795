mod emulator;
mod limits;
mod transfers;
