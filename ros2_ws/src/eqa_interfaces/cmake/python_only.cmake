# Include this after find_package(rosidl_default_generators). An installation by pip (pyproject.toml sets EQA_PYTHON_ONLY)
# leaves out the C++ type supports, which take two thirds of the compile time and which no Python process reads, and builds
# one Python module of each package instead of three (rclpy imports rosidl_typesupport_c, which opens the library of Fast DDS).
if(EQA_PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
  macro(rosidl_generator_py_get_typesupports names)
    set(${names} rosidl_typesupport_c)
  endmacro()
endif()
