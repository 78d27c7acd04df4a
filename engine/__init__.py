"""How a flow runs: loading, state graph, journal, models, sandbox, workspace. Knows nothing of software engineering."""
