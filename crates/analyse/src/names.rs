//! What a name or the text of an argument says. Nothing here looks at time.

pub(crate) mod by_name;
pub mod calls;
pub mod category;
pub mod collective;
pub mod comm;
pub mod compiling;
pub mod copies;
pub mod framework;
pub mod function;
pub(crate) mod kernel_family;
pub mod kernel_name;
pub mod library_file;
pub(crate) mod model_ends;
pub mod nearest;
pub mod python_frame;
pub mod ranges;
pub mod serving;
pub mod shapes;
pub mod tensor_core;
pub(crate) mod users_frames;
pub mod waiting;
