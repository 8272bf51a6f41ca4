# SPDX-License-Identifier: Apache-2.0
"""Which environment variables are the user's, which are Stoker's, and which the shell's."""

from __future__ import annotations

# What Stoker sets itself for its workers.
_SET_FOR_WORKERS = frozenset(
    """
    CUDA_VISIBLE_DEVICES KERASTUNER_ORACLE_IP KERASTUNER_ORACLE_PORT KERASTUNER_TUNER_ID
    TF2_BEHAVIOR TF_CONFIG TF_CPP_MIN_LOG_LEVEL TF_FORCE_GPU_ALLOW_GROWTH TF_NUM_INTRAOP_THREADS
    TF_USE_LEGACY_KERAS TMPDIR no_grpc_proxy
    """.split()  # noqa: SIM905 - it is read as a list of words
)
# What differs from shell to shell.
_OF_THE_SHELL = frozenset(
    """
    _ BASHOPTS BASH_ENV COLORFGBG COLORTERM COLUMNS DISPLAY EDITOR EUID GPG_AGENT_INFO GPG_TTY
    HISTCONTROL HISTFILE HISTSIZE HOME HOST HOSTNAME INFOPATH INVOCATION_ID JOURNAL_STREAM LANG
    LANGUAGE LESS LESSCLOSE LESSOPEN LINES LOGNAME LS_COLORS MAIL MANPATH NO_COLOR OLDPWD PAGER PATH
    PPID PS1 PWD PYTHONPATH SHELL SHELLOPTS SHLVL STY SYSTEMD_EXEC_PID TEMP TERM TMP TMUX TMUX_PANE
    TZ UID USER USERNAME VIRTUAL_ENV VIRTUAL_ENV_PROMPT VISUAL VTE_VERSION WAYLAND_DISPLAY WINDOWID
    WSL_INTEROP XAUTHORITY
    """.split()  # noqa: SIM905
)
_PREFIXES_OF_THE_SHELL = (
    *("BASH_FUNC_", "CONDA_", "DBUS_", "GNOME_", "GTK_", "ITERM_", "KITTY_", "LC_", "PYENV_"),
    *("PYTEST_", "QT_", "RAY_", "SSH_", "SUDO_", "TERM_", "VSCODE_", "XDG_"),
)


def is_stokers(variable: str) -> bool:
    """Whether Stoker sets a variable itself, so that what it is says nothing of the program."""
    return variable in _SET_FOR_WORKERS or variable.startswith("STOKER_")


def is_users(variable: str) -> bool:
    """Whether a variable counts though no line of the user's names it: not one of the shell's."""
    is_shells = variable in _OF_THE_SHELL or variable.startswith(_PREFIXES_OF_THE_SHELL)
    return not (is_shells or is_stokers(variable))
