mod limits;
mod passing;
mod transfers;
