"""Where the data beside the repository is."""

import os
import pathlib


def shared_folder(root):
    """{shared} of the lists. Throws ValueError if the user has named a folder that does not exist."""
    named = os.environ.get("SLIP_SHARED_DIR")
    folder = pathlib.Path(named or root.parent / "shared")
    if named and not folder.is_dir():
        raise ValueError(f"SLIP_SHARED_DIR: expected a folder, {named} is none")
    return folder
