"""The frame of a drafted robot.xml: materials, classes, floor and trunk, in the layout of assets/robots/go2.

What enters: nothing. What leaves: templates for str.format.
"""
# ruff: noqa: E501

SHAPES = """\
<!--
  {head}
  Inertias, link offsets, joint ranges and feet are the source's; shapes, materials and layout are lagoon's own.
  Geom groups: 2 seen, 3 collision used in training, 4 collision added for full checks.
  Solver options, gains and friction are set by lagoon/sim/model.py, never here.
-->
<mujoco model={name}>
  <compiler angle="radian" autolimits="true"/>
  <visual>
    <headlight ambient="0.45 0.45 0.45" diffuse="0.55 0.55 0.55" specular="0.1 0.1 0.1"/>
    <global offwidth="1280" offheight="960"/>
    <quality shadowsize="1024"/>
  </visual>
  <default>
    <default class="visual"><geom contype="0" conaffinity="0" group="2" mass="0"/></default>
    <default class="collision"><geom contype="0" conaffinity="1" group="3" mass="0" rgba="0.9 0.5 0.2 0.4"/></default>
    <default class="collision_full">
      <geom contype="0" conaffinity="0" group="4" mass="0" rgba="0.2 0.5 0.9 0.4"/>
    </default>
  </default>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.93 0.95 0.98" rgb2="0.72 0.78 0.86" width="64" height="64"/>
    <texture name="floor" type="2d" builtin="checker" rgb1="0.83 0.85 0.87" rgb2="0.76 0.79 0.82" width="128" height="128"/>
    <material name="floor" texture="floor" texrepeat="20 20"/>
    <material name="body" rgba="0.88 0.89 0.91 1"/>
    <material name="metal" rgba="0.42 0.45 0.5 1"/>
    <material name="black" rgba="0.16 0.17 0.2 1"/>
    <material name="rubber" rgba="0.05 0.05 0.06 1"/>
    <material name="thigh_front" rgba="0.15 0.5 0.85 1"/>
    <material name="thigh_rear" rgba="0.93 0.5 0.22 1"/>
  </asset>
  <worldbody>
    <light pos="1 -1 4" dir="-0.25 0.25 -1" directional="true" diffuse="0.5 0.5 0.5"/>
    <geom name="floor" type="plane" size="20 20 0.1" contype="1" conaffinity="0" material="floor"/>
    <body name={base} pos="0 0 {start}">
      <freejoint name="root"/>
      {inertial}
      <geom class="visual" type="box" size="{trunk}" material="body"/>
      <geom class="visual" type="capsule" size="{head_r}" fromto="{head_from} 0 0 {head_x} 0 0" material="black"/>
      <geom name="trunk_left" class="collision" type="capsule" size="{bar}" fromto="-{bar_x} {bar_y} 0 {bar_x} {bar_y} 0"/>
      <geom name="trunk_right" class="collision" type="capsule" size="{bar}" fromto="-{bar_x} -{bar_y} 0 {bar_x} -{bar_y} 0"/>
      <geom name="head" class="collision" type="sphere" size="{head_r}" pos="{head_x} 0 0"/>
      <geom name="trunk_full" class="collision_full" type="box" size="{trunk}"/>
      <site name="imu"/>
{legs}
    </body>
  </worldbody>
  <actuator>
{motors}
  </actuator>
</mujoco>
"""

LEG = """\
      <body name="{n}_hip" pos="{hip}">
        {hip_inertial}
        {hip_joint}
        <geom class="visual" type="cylinder" size="{drum}" pos="{drum_at}" quat="1 1 0 0" material="metal"/>
        <geom name="{n}_hip_collision" class="collision_full" type="cylinder" size="{drum_full}" pos="{drum_full_at}" quat="1 1 0 0"/>
        <body name="{n}_thigh" pos="{thigh}">
          {thigh_inertial}
          {thigh_joint}
          <geom class="visual" type="capsule" size="{thick_seen}" fromto="0 0 0 {calf}" material="{colour}"/>
          <geom name="{n}_thigh_collision" class="collision" type="capsule" size="{thick}" fromto="0 0 0 {calf}"/>
          <body name="{n}_calf" pos="{calf}">
            {calf_inertial}
            {calf_joint}
            <geom class="visual" type="capsule" size="{thin_seen}" fromto="{shin_seen}" material="black"/>
            <geom class="visual" type="sphere" size="{radius}" pos="{foot}" material="rubber"/>
            <geom name="{n}_calf_collision" class="collision_full" type="capsule" size="{thin}" fromto="{shin}"/>
            <geom name="{n}" class="collision" type="sphere" size="{radius}" pos="{foot}"/>
            <site name="{n}" pos="{foot}"/>
          </body>
        </body>
      </body>"""
