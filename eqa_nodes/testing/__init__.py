"""Stand-ins for tests, benchmarks and drills, also for your own tests. None of them imports pytest.

- `model_server`: an HTTP server that plays scripted replies, faults and delays of a model endpoint.
- `talkative`: a scripted backend that replies to every prompt of this package.
- `nav2`, `scripted_nav2`: Nav2's actions, states and costmaps; the first one drives, the second follows a script.
- `robot`: a camera robot in its own process, `python -m eqa_nodes.testing.robot`.
- `driving`: a commander and a robot without ROS, for code that sends navigation goals.
- `waiting`: conditions with one deadline, instead of sleeping.
"""
