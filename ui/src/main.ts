import '@fontsource-variable/geist/wght.css'
import '@fontsource-variable/geist-mono/wght.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { connect } from '$lib/backend'

const target = document.getElementById('app')
if (!target) throw new Error('index.html has no #app')

const backend = await connect()
mount(App, { target, props: { backend } })
